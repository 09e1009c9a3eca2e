/* One pane: a zoomable picture in three slots (base, compared, overlay) with a canvas above it for painters.

   World coordinates of OpenSeadragon: the base picture is 1 wide. Places are given as {row, col} in pixels of
   the base picture; whole numbers are the centres of pixels. */

import { openSeadragon, still, tileSource } from "./deepzoom.js";

const SLOTS = ["base", "compared", "overlay"];

export class Pane {
  /* `moved(pane)`: the view has; `led(pane)`: somebody has moved it, not another pane; `opened(pane)`: a picture
     of another size has come. */
  constructor(element, { moved, led, opened }) {
    Object.assign(this, { element, moved, led, opened });
    this.slots = Object.fromEntries(SLOTS.map((name) => [name, { source: null, item: null, old: null }]));
    this.painters = new Set();
    this.fitted = true; // and stays so when the pane's size changes, until somebody zooms or pans
    this.split = null; // where the compared picture begins, as a part of the pane's width
    this.osd = openSeadragon(element);
    this.osd.addHandler("viewport-change", () => this.#moved());
    for (const gesture of ["canvas-drag", "canvas-scroll", "canvas-pinch"]) {
      this.osd.addHandler(gesture, (event) => event.preventDefaultAction || this.#lead());
    }
    this.canvas = document.createElement("canvas");
    this.canvas.className = "painted";
    element.append(this.canvas);
    new ResizeObserver(() => this.#resized()).observe(element);
  }

  /* What shall be seen in a slot: {key, width, height, levels, tile, transparent, url(e, col, row)} or null. */
  set(name, source, { opacity = 1 } = {}) {
    const slot = this.slots[name];
    if (slot.source?.key === source?.key) {
      slot.opacity = opacity;
      slot.item?.setOpacity(opacity);
      return;
    }
    const resized = name === "base" && source && !sameSize(slot.source, source);
    Object.assign(slot, { source, opacity });
    if (!source) {
      this.#remove(slot, "item");
      this.#remove(slot, "old");
      return;
    }
    if (resized) this.#forgetAll();
    this.osd.addTiledImage({
      tileSource: tileSource(source),
      x: 0,
      y: 0,
      width: source.width / this.size.width,
      opacity,
      success: ({ item }) => this.#arrived(slot, source, item, resized),
    });
  }

  /* Whether all that shall be seen has come. */
  get loaded() {
    const come = ({ source, arrived, item, old }) => !source || (arrived === source && item?.getFullyLoaded() && !old);
    return Object.values(this.slots).every(come);
  }

  get size() {
    const { width = 1, height = 1 } = this.slots.base.source ?? {};
    return { width, height };
  }

  /* Screen pixels (CSS) per pixel of the picture. */
  scale() {
    return (this.osd.viewport.getZoom(true) * this.osd.viewport.getContainerSize().x) / this.size.width;
  }

  toImage(clientX, clientY) {
    const { left, top } = this.element.getBoundingClientRect();
    const point = this.osd.viewport.pointFromPixel(new OpenSeadragon.Point(clientX - left, clientY - top), true);
    return { row: point.y * this.size.width - 0.5, col: point.x * this.size.width - 0.5 };
  }

  toScreen(row, col) {
    const { x, y } = this.osd.viewport.pixelFromPoint(this.#point(row, col), true);
    return { x, y };
  }

  fit(atOnce = still()) {
    this.#lead(true);
    this.osd.viewport.goHome(atOnce);
  }

  zoomTo(scale, place = null) {
    this.#lead();
    this.osd.viewport.zoomTo(this.#zoom(scale), place && this.#point(place.row, place.col), still());
    this.osd.viewport.applyConstraints();
  }

  centre(row, col, atOnce = still()) {
    this.#lead();
    this.osd.viewport.panTo(this.#point(row, col), atOnce);
  }

  /* Move the view by parts of its width and height. */
  pan(right, down) {
    this.#lead();
    const { width, height } = this.osd.viewport.getBounds();
    this.osd.viewport.panBy(new OpenSeadragon.Point(right * width, down * height), still());
    this.osd.viewport.applyConstraints();
  }

  /* Show the same part as another pane, at once. */
  follow(other) {
    if (!this.slots.base.item) return;
    this.fitted = other.fitted;
    this.osd.viewport.zoomTo(this.#zoom(other.scale()), null, true);
    this.osd.viewport.panTo(other.osd.viewport.getCenter(true), true);
  }

  setSplit(split) {
    this.split = split;
    this.#clip();
  }

  repaint() {
    this.due ??= requestAnimationFrame(() => {
      this.due = null;
      const ratio = devicePixelRatio;
      const context = this.canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (!this.canvas.hidden) context.clearRect(0, 0, this.element.clientWidth, this.element.clientHeight);
      let painted = false;
      for (const paint of this.painters) {
        context.save();
        if (paint(context) !== false) painted = true;
        context.restore();
      }
      this.canvas.hidden = !painted; // an empty canvas over the picture would cost as much as a full one
    });
  }

  #lead(fitted = false) {
    this.fitted = fitted;
    this.led(this);
  }

  #zoom(scale) {
    return (scale * this.size.width) / this.osd.viewport.getContainerSize().x;
  }

  #point(row, col) {
    return new OpenSeadragon.Point((col + 0.5) / this.size.width, (row + 0.5) / this.size.width);
  }

  #arrived(slot, source, item, resized) {
    if (slot.source !== source) {
      this.osd.world.removeItem(item); // something else was asked for meanwhile
      return;
    }
    this.#remove(slot, "old");
    slot.old = slot.item;
    slot.item = item;
    slot.arrived = source;
    item.setOpacity(slot.opacity);
    // The picture before stays below until the new one is there: no flicker. Two overlays would add up.
    if (slot === this.slots.overlay || item.getFullyLoaded()) this.#remove(slot, "old");
    item.addHandler("fully-loaded-change", ({ fullyLoaded }) => fullyLoaded && this.#remove(slot, "old", item));
    SLOTS.flatMap((name) => [this.slots[name].old, this.slots[name].item])
      .filter(Boolean)
      .forEach((each, index) => this.osd.world.setItemIndex(each, index));
    this.#clip();
    if (resized) this.opened(this);
    this.#moved();
  }

  #remove(slot, which, successor = null) {
    if (!slot[which] || (successor && slot.item !== successor)) return;
    this.osd.world.removeItem(slot[which]);
    slot[which] = null;
  }

  #forgetAll() {
    this.osd.world.removeAll();
    for (const name of SLOTS) {
      Object.assign(this.slots[name], { item: null, old: null });
      if (name !== "base") this.slots[name].source = null;
    }
  }

  #clip() {
    const { source, item, old } = this.slots.compared;
    if (!source || this.split === null) return;
    const { left, width } = this.element.getBoundingClientRect();
    const from = Math.max(0, this.toImage(left + this.split * width, 0).col + 0.5);
    const clip = new OpenSeadragon.Rect(from, 0, Math.max(0, source.width - from), source.height);
    for (const each of [item, old]) if (each && !each.getClip()?.equals(clip)) each.setClip(clip);
  }

  #moved() {
    // Pixels shall be seen as they are: no smoothing where one fills a pixel of the screen or more.
    const smooth = this.scale() * devicePixelRatio < 0.999;
    if (smooth !== this.smooth) this.osd.drawer.setImageSmoothingEnabled((this.smooth = smooth));
    this.#clip();
    this.repaint();
    this.moved(this);
  }

  #resized() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return; // hidden: the view waits as it is
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    const { viewport } = this.osd;
    const [scale, centre] = [this.scale(), viewport.getCenter(true)];
    viewport.resize(new OpenSeadragon.Point(clientWidth, clientHeight), false);
    if (this.fitted) {
      viewport.goHome(true);
    } else {
      viewport.zoomTo(this.#zoom(scale), null, true);
      viewport.panTo(centre, true);
    }
    this.osd.forceRedraw();
    this.#moved();
  }
}

function sameSize(one, other) {
  return one?.width === other.width && one?.height === other.height;
}
