// A pane: a zoomable picture in three slots (base, compared, overlay), with a canvas for painters above it.
//
// In OpenSeadragon's coordinates the base picture has width 1. Places are {row, col} in pixels of the base picture;
// integers are pixel centres.

import { createOpenSeadragon, createTileSource, prefersReducedMotion } from "./openseadragon.js";

const SLOTS = ["base", "compared", "overlay"];

export class Pane {
  /**
   * Handlers: onMove(pane) after any move, onLead(pane) when the user moves this pane, onOpen(pane) for a picture of
   * another size.
   */
  constructor(element, { onMove, onLead, onOpen }) {
    Object.assign(this, { element, onMove, onLead, onOpen });
    this.slots = Object.fromEntries(SLOTS.map((name) => [name, { source: null, item: null, old: null }]));
    this.painters = new Set();
    this.isFitted = true; // also after a resize, until the user zooms or pans
    this.split = null; // position of the divider, 0..1 of the width
    this.osd = createOpenSeadragon(element);
    this.osd.addHandler("viewport-change", () => this.#handleMove());
    for (const gesture of ["canvas-drag", "canvas-scroll", "canvas-pinch"]) {
      this.osd.addHandler(gesture, (event) => event.preventDefaultAction || this.#lead());
    }
    this.canvas = document.createElement("canvas");
    this.canvas.className = "painted";
    element.append(this.canvas);
    new ResizeObserver(() => this.#handleResize()).observe(element);
  }

  /** Show a source in a slot: {key, width, height, levels, tile, transparent, url(e, col, row)} or null. */
  set(name, source, { opacity = 1 } = {}) {
    const slot = this.slots[name];
    if (slot.source?.key === source?.key) {
      slot.opacity = opacity;
      slot.item?.setOpacity(opacity);
      return;
    }
    const isResized = name === "base" && source && !hasSameSize(slot.source, source);
    Object.assign(slot, { source, opacity });
    if (!source) {
      this.#remove(slot, "item");
      this.#remove(slot, "old");
      return;
    }
    if (isResized) this.#removeAll();
    this.osd.addTiledImage({
      tileSource: createTileSource(source),
      x: 0,
      y: 0,
      width: source.width / this.size.width,
      opacity,
      success: ({ item }) => this.#showItem(slot, source, item, isResized),
    });
  }

  /** Whether all visible tiles are loaded. */
  get isLoaded() {
    const isComplete = ({ source, shownSource, item, old }) => !source || (shownSource === source && item?.getFullyLoaded() && !old);
    return Object.values(this.slots).every(isComplete);
  }

  get size() {
    const { width = 1, height = 1 } = this.slots.base.source ?? {};
    return { width, height };
  }

  /** Return the CSS pixels per pixel of the picture. */
  scale() {
    return (this.osd.viewport.getZoom(true) * this.osd.viewport.getContainerSize().x) / this.size.width;
  }

  toImage(clientX, clientY) {
    const { left, top } = this.element.getBoundingClientRect();
    const point = this.osd.viewport.pointFromPixel(new OpenSeadragon.Point(clientX - left, clientY - top), true);
    return { row: point.y * this.size.width - 0.5, col: point.x * this.size.width - 0.5 };
  }

  toScreen(row, col) {
    const { x, y } = this.osd.viewport.pixelFromPoint(this.#toPoint(row, col), true);
    return { x, y };
  }

  fit(isImmediate = prefersReducedMotion()) {
    this.#lead(true);
    this.osd.viewport.goHome(isImmediate);
  }

  zoomTo(scale, place = null) {
    this.#lead();
    this.osd.viewport.zoomTo(this.#toZoom(scale), place && this.#toPoint(place.row, place.col), prefersReducedMotion());
    this.osd.viewport.applyConstraints();
  }

  centre(row, col, isImmediate = prefersReducedMotion()) {
    this.#lead();
    this.osd.viewport.panTo(this.#toPoint(row, col), isImmediate);
  }

  /** Move the view by fractions of its width and height. */
  pan(right, down) {
    this.#lead();
    const { width, height } = this.osd.viewport.getBounds();
    this.osd.viewport.panBy(new OpenSeadragon.Point(right * width, down * height), prefersReducedMotion());
    this.osd.viewport.applyConstraints();
  }

  /** Show the same part as another pane, without animation. */
  follow(other) {
    if (!this.slots.base.item) return;
    this.isFitted = other.isFitted;
    this.osd.viewport.zoomTo(this.#toZoom(other.scale()), null, true);
    this.osd.viewport.panTo(other.osd.viewport.getCenter(true), true);
  }

  setSplit(split) {
    this.split = split;
    this.#clip();
  }

  repaint() {
    this.pendingFrame ??= requestAnimationFrame(() => {
      this.pendingFrame = null;
      const ratio = devicePixelRatio;
      const context = this.canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      if (!this.canvas.hidden) context.clearRect(0, 0, this.element.clientWidth, this.element.clientHeight);
      let hasPainted = false;
      for (const paint of this.painters) {
        context.save();
        if (paint(context) !== false) hasPainted = true;
        context.restore();
      }
      this.canvas.hidden = !hasPainted; // an empty canvas costs as much as a full one
    });
  }

  #lead(isFitted = false) {
    this.isFitted = isFitted;
    this.onLead(this);
  }

  #toZoom(scale) {
    return (scale * this.size.width) / this.osd.viewport.getContainerSize().x;
  }

  #toPoint(row, col) {
    return new OpenSeadragon.Point((col + 0.5) / this.size.width, (row + 0.5) / this.size.width);
  }

  #showItem(slot, source, item, isResized) {
    if (slot.source !== source) {
      this.osd.world.removeItem(item); // another source was set meanwhile
      return;
    }
    this.#remove(slot, "old");
    slot.old = slot.item;
    slot.item = item;
    slot.shownSource = source;
    item.setOpacity(slot.opacity);
    // The old picture stays below until the new one is loaded, to avoid flicker; but two overlays would add up.
    if (slot === this.slots.overlay || item.getFullyLoaded()) this.#remove(slot, "old");
    item.addHandler("fully-loaded-change", ({ fullyLoaded }) => fullyLoaded && this.#remove(slot, "old", item));
    SLOTS.flatMap((name) => [this.slots[name].old, this.slots[name].item])
      .filter(Boolean)
      .forEach((each, index) => this.osd.world.setItemIndex(each, index));
    this.#clip();
    if (isResized) this.onOpen(this);
    this.#handleMove();
  }

  #remove(slot, which, successor = null) {
    if (!slot[which] || (successor && slot.item !== successor)) return;
    this.osd.world.removeItem(slot[which]);
    slot[which] = null;
  }

  #removeAll() {
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

  #handleMove() {
    // No smoothing at 100 % or more, to show the exact pixels.
    const smooth = this.scale() * devicePixelRatio < 0.999;
    if (smooth !== this.isSmooth) this.osd.drawer.setImageSmoothingEnabled((this.isSmooth = smooth));
    this.#clip();
    this.repaint();
    this.onMove(this);
  }

  #handleResize() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return; // hidden
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    const { viewport } = this.osd;
    const [scale, centre] = [this.scale(), viewport.getCenter(true)];
    viewport.resize(new OpenSeadragon.Point(clientWidth, clientHeight), false);
    if (this.isFitted) {
      viewport.goHome(true);
    } else {
      viewport.zoomTo(this.#toZoom(scale), null, true);
      viewport.panTo(centre, true);
    }
    this.osd.forceRedraw();
    this.#handleMove();
  }
}

function hasSameSize(one, other) {
  return one?.width === other.width && one?.height === other.height;
}
