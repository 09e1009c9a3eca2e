/* A cross on the picture that the arrow keys move, so that places are reached without a mouse. */

export class Cursor {
  row = 0;
  col = 0;
  shown = false;
  #viewer;

  constructor(viewer) {
    this.#viewer = viewer;
    viewer.addPainter((context) => this.shown && this.#paint(context));
  }

  /* Show or hide it; where it was out of sight it begins in the middle of the view. */
  show(shown) {
    this.shown = shown;
    if (shown) {
      if (!this.#isSeen()) this.#put(this.#viewer.toImage(...this.#viewer.middle()));
      this.#viewer.point(this);
    }
    this.#viewer.controls.update();
    this.#viewer.repaint();
  }

  move(down, right) {
    this.#put({ row: this.row + down, col: this.col + right });
    if (!this.#isSeen()) this.#viewer.goTo(this.row, this.col);
    this.#viewer.point(this);
    this.#viewer.repaint();
  }

  #put({ row, col }) {
    const { width, height } = this.#viewer.job()?.result ?? { width: 1, height: 1 };
    const clamp = (value, size) => Math.min(size - 1, Math.max(0, Math.round(value)));
    Object.assign(this, { row: clamp(row, height), col: clamp(col, width) });
  }

  #isSeen() {
    const { x, y } = this.#viewer.toScreen(this.row, this.col);
    const { clientWidth, clientHeight } = this.#viewer.panes.main.element;
    return x >= 0 && y >= 0 && x < clientWidth && y < clientHeight;
  }

  #paint(context) {
    const { x, y } = this.#viewer.toScreen(this.row, this.col);
    for (const [width, colour] of [[3, "#000"], [1, "#fff"]]) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.beginPath();
      for (const [right, down] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 5 * right, y + 5 * down);
        context.lineTo(x + 20 * right, y + 20 * down);
      }
      context.stroke();
    }
  }
}
