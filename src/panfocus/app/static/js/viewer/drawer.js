/* OpenSeadragon's drawer on a 2D canvas, but true to the pixel.

   The original draws each tile a pixel larger than it is, to hide the seams between tiles; so pixels are doubled
   and lie up to one beside their place. Here the edges of tiles are put on whole pixels of the screen:
   neighbours meet at the same edge, there is no seam to hide, and a tile shown 1:1 is shown as it is. */

export class TrueDrawer extends OpenSeadragon.CanvasDrawer {
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
