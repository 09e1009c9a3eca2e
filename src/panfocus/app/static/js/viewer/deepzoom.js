/* OpenSeadragon as our panes use it: its settings, its drawer, and pyramids of tiles as the server gives them. */

const LARGEST_SCALE = 32; // screen pixels per image pixel
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function openSeadragon(element) {
  // The library would add a style element, which the page's policy forbids; it does not where it finds one.
  if (!document.querySelector("style[data-openseadragon-mobile-css]")) {
    const placeholder = document.createElementNS("urn:panfocus", "style");
    placeholder.setAttribute("data-openseadragon-mobile-css", "");
    document.head.append(placeholder);
  }
  return new OpenSeadragon.Viewer({
    element,
    drawer: TrueDrawer,
    smoothTileEdgesMinZoom: Infinity, // our drawer leaves no seams
    tabIndex: "",
    showNavigationControl: false,
    animationTime: still() ? 0 : 0.25,
    springStiffness: 10,
    blendTime: 0,
    minZoomImageRatio: 0.7,
    maxZoomPixelRatio: LARGEST_SCALE,
    visibilityRatio: 0.3,
    autoResize: false,
    imageLoaderLimit: 6,
    maxImageCacheCount: 400,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: false, flickEnabled: false },
    gestureSettingsPen: { clickToZoom: false, dblClickToZoom: false, flickEnabled: false },
    gestureSettingsTouch: { clickToZoom: false, dblClickToZoom: false, flickEnabled: !still() },
  });
}

/* `source` as in Pane.set: level e of the server is halved e times, level 0 of OpenSeadragon the smallest. */
export function tileSource(source) {
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

/* OpenSeadragon's drawer on a 2D canvas, but true to the pixel.

   The original draws each tile a pixel larger than it is, to hide the seams between tiles; so pixels are doubled
   and lie up to one beside their place. Here the edges of tiles are put on whole pixels of the screen:
   neighbours meet at the same edge, there is no seam to hide, and a tile shown 1:1 is shown as it is. */

class TrueDrawer extends OpenSeadragon.CanvasDrawer {
  minimumOverlapRequired() {
    return false;
  }

  _drawTile(tile, ...how) {
    const { position, size } = tile;
    const end = snap(position.plus(size));
    tile.position = snap(position);
    tile.size = end.minus(tile.position);
    super._drawTile(tile, ...how);
    Object.assign(tile, { position, size });
  }
}

function snap(point) {
  const ratio = OpenSeadragon.pixelDensityRatio;
  return new OpenSeadragon.Point(Math.round(point.x * ratio) / ratio, Math.round(point.y * ratio) / ratio);
}
