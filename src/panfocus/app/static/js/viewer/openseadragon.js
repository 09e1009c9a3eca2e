// OpenSeadragon with our settings, drawer and tile source.

const MAX_SCALE = 32; // screen pixels per image pixel
export const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function createOpenSeadragon(element) {
  // The library adds a style element, which the content security policy blocks, unless it finds this one.
  if (!document.querySelector("style[data-openseadragon-mobile-css]")) {
    const placeholder = document.createElementNS("urn:panfocus", "style");
    placeholder.setAttribute("data-openseadragon-mobile-css", "");
    document.head.append(placeholder);
  }
  return new OpenSeadragon.Viewer({
    element,
    drawer: PixelDrawer,
    smoothTileEdgesMinZoom: Infinity, // our drawer leaves no seams
    tabIndex: "",
    showNavigationControl: false,
    animationTime: prefersReducedMotion() ? 0 : 0.25,
    springStiffness: 10,
    blendTime: 0,
    minZoomImageRatio: 0.7,
    maxZoomPixelRatio: MAX_SCALE,
    visibilityRatio: 0.3,
    autoResize: false,
    imageLoaderLimit: 6,
    maxImageCacheCount: 400,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: false, flickEnabled: false },
    gestureSettingsPen: { clickToZoom: false, dblClickToZoom: false, flickEnabled: false },
    gestureSettingsTouch: { clickToZoom: false, dblClickToZoom: false, flickEnabled: !prefersReducedMotion() },
  });
}

/**
 * Create the tile source of a layer (see Pane.set). The server's level e is reduced by 2^e; OpenSeadragon counts from
 * the smallest level.
 */
export function createTileSource(source) {
  const tiles = new OpenSeadragon.TileSource({
    width: source.width,
    height: source.height,
    tileSize: source.tile,
    tileOverlap: 0,
    minLevel: 0,
    maxLevel: source.levels - 1,
  });
  tiles.getTileUrl = (level, col, row) => source.url(source.levels - 1 - level, col, row);
  tiles.hasTransparency = () => source.transparent;
  return tiles;
}

/**
 * OpenSeadragon's canvas drawer with exact pixels. The original enlarges each tile by a pixel to hide seams, which
 * doubles and shifts pixels. Here tile edges are rounded to screen pixels: there are no seams, and 1:1 is exact.
 */
class PixelDrawer extends OpenSeadragon.CanvasDrawer {
  minimumOverlapRequired() {
    return false;
  }

  _drawTile(tile, ...rest) {
    const { position, size } = tile;
    const end = roundToPixels(position.plus(size));
    tile.position = roundToPixels(position);
    tile.size = end.minus(tile.position);
    super._drawTile(tile, ...rest);
    Object.assign(tile, { position, size });
  }
}

function roundToPixels(point) {
  const ratio = OpenSeadragon.pixelDensityRatio;
  return new OpenSeadragon.Point(Math.round(point.x * ratio) / ratio, Math.round(point.y * ratio) / ratio);
}
