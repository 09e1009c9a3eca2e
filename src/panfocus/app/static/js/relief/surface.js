// A textured surface over a grid of depths, drawn by WebGL 2.
//
// The grid is in the plane z = 0, its longer side from -1 to 1; deeper points are farther from the camera.

const VERTEX = `#version 300 es
in vec2 place; // 0..1 from the left and from the top
in float depth; // 0..1
uniform mat4 camera;
uniform vec2 extent;
uniform float height;
out vec2 at;
out vec3 point;
void main() {
  at = place;
  point = vec3((2.0 * place.x - 1.0) * extent.x, (1.0 - 2.0 * place.y) * extent.y, height * (0.5 - depth));
  gl_Position = camera * vec4(point, 1.0);
}`;

// Light from the upper left shows the slopes; a flat surface keeps the brightness of the picture.
const FRAGMENT = `#version 300 es
precision highp float;
in vec2 at;
in vec3 point;
uniform sampler2D picture;
out vec4 colour;
void main() {
  vec3 normal = normalize(cross(dFdx(point), dFdy(point)));
  vec3 light = normalize(vec3(-0.4, 0.5, 1.0));
  float shade = 0.55 + 0.45 * abs(dot(normal, light)) / light.z;
  colour = vec4(texture(picture, at).rgb * min(shade, 1.15), 1.0);
}`;

/** Return null without WebGL 2. `redraw` is called when a lost context is restored. */
export function createSurface(canvas, redraw) {
  const gl = canvas.getContext("webgl2", { antialias: true });
  if (!gl) return null;
  let mesh = null; // objects in graphics memory
  let data = null; // depth and picture, to create them again

  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    if (data) mesh = upload(gl, ...data);
    redraw();
  });

  return {
    set(depth, picture) {
      data = [depth, picture];
      if (mesh) free(gl, mesh);
      mesh = upload(gl, depth, picture);
    },
    draw({ view: { turn, tilt, distance, height }, ...size }) {
      if (!mesh || gl.isContextLost()) return;
      if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0.33, 0.33, 0.33, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.useProgram(mesh.program);
      const at = (name) => gl.getUniformLocation(mesh.program, name);
      gl.uniformMatrix4fv(at("camera"), false, camera(turn, tilt, distance, canvas.width / canvas.height));
      gl.uniform2fv(at("extent"), mesh.extent);
      gl.uniform1f(at("height"), height);
      gl.bindVertexArray(mesh.vertices);
      gl.bindTexture(gl.TEXTURE_2D, mesh.texture);
      gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
    },
  };
}

/** Return the projection matrix, column by column: rotate, tilt, move back, project. */
export function camera(turn, tilt, distance, aspect) {
  const [ct, st, cx, sx] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  const focal = 1.8; // about 58 degrees from edge to edge
  const [near, far] = [0.05, 30];
  const [across, up] = aspect > 1 ? [focal / aspect, focal] : [focal, focal * aspect];
  const slope = (far + near) / (near - far);
  // rows of the rotation: Rx(-tilt) Rz(turn)
  const x = [ct, -st, 0];
  const y = [cx * st, cx * ct, sx];
  const z = [-sx * st, -sx * ct, cx];
  const column = (i) => [across * x[i], up * y[i], slope * z[i], -z[i]];
  const shift = [0, 0, -slope * distance + (2 * far * near) / (near - far), distance];
  return new Float32Array([...column(0), ...column(1), ...column(2), ...shift]);
}

function upload(gl, { values, width, height }, picture) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));

  const vertices = gl.createVertexArray();
  gl.bindVertexArray(vertices);
  const buffers = [
    createAttribute(gl, program, "place", gridPlaces(width, height), 2),
    createAttribute(gl, program, "depth", values, 1),
    gl.createBuffer(),
  ];
  const triangles = gridTriangles(width, height);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[2]);
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);

  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
  gl.generateMipmap(gl.TEXTURE_2D);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);

  const longer = Math.max(picture.width, picture.height);
  const extent = [picture.width / longer, picture.height / longer];
  return { program, vertices, buffers, texture, extent, count: triangles.length };
}

function free(gl, { program, vertices, buffers, texture }) {
  gl.deleteProgram(program);
  gl.deleteVertexArray(vertices);
  gl.deleteTexture(texture);
  for (const buffer of buffers) gl.deleteBuffer(buffer);
}

function createAttribute(gl, program, name, values, size) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  const location = gl.getAttribLocation(program, name);
  gl.enableVertexAttribArray(location);
  gl.vertexAttribPointer(location, size, gl.FLOAT, false, 0, 0);
  return buffer;
}

function gridPlaces(width, height) {
  const places = new Float32Array(2 * width * height);
  for (let i = 0; i < width * height; i++) {
    places[2 * i] = (i % width) / Math.max(1, width - 1);
    places[2 * i + 1] = Math.floor(i / width) / Math.max(1, height - 1);
  }
  return places;
}

/** Return the vertex indices of two triangles for each cell of the grid. */
function gridTriangles(width, height) {
  const indices = new Uint32Array(6 * (width - 1) * (height - 1));
  let next = 0;
  for (let row = 0; row < height - 1; row++) {
    for (let col = 0; col < width - 1; col++) {
      const i = row * width + col;
      for (const corner of [i, i + width, i + 1, i + 1, i + width, i + width + 1]) indices[next++] = corner;
    }
  }
  return indices;
}
