// The keyboard cursor: a cross on the picture, moved by the arrow keys.

export class KeyboardCursor {
  row = 0;
  col = 0;
  isVisible = false;
  #viewer;

  constructor(viewer) {
    this.#viewer = viewer;
    viewer.addPainter((context) => this.isVisible && this.#paint(context));
  }

  /** Show or hide the cursor. If it is outside the view, it moves to the centre. */
  setVisible(isVisible) {
    this.isVisible = isVisible;
    if (isVisible) {
      if (!this.#isInView()) this.#set(this.#viewer.toImage(...this.#viewer.centre()));
      this.#viewer.setPointer(this);
    }
    this.#viewer.controls.update();
    this.#viewer.repaint();
  }

  move(down, right) {
    this.#set({ row: this.row + down, col: this.col + right });
    if (!this.#isInView()) this.#viewer.goTo(this.row, this.col);
    this.#viewer.setPointer(this);
    this.#viewer.repaint();
  }

  #set({ row, col }) {
    const { width, height } = this.#viewer.job()?.result ?? { width: 1, height: 1 };
    const clamp = (value, size) => Math.min(size - 1, Math.max(0, Math.round(value)));
    Object.assign(this, { row: clamp(row, height), col: clamp(col, width) });
  }

  #isInView() {
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
