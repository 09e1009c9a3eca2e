// Copies the libraries of the page from node_modules into the package and records their digests, so that a test can
// check the vendored files against the lock file without a network.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = new URL("./", import.meta.url);
const target = new URL("../src/panfocus/app/static/vendor/", here);
const copies = {
  "openseadragon.min.js": "build/openseadragon/openseadragon.min.js",
  "openseadragon.LICENSE.txt": "LICENSE.txt",
};

const lock = JSON.parse(readFileSync(new URL("package-lock.json", here), "utf8"));
const { version, integrity } = lock.packages["node_modules/openseadragon"];
const installed = JSON.parse(readFileSync(new URL("node_modules/openseadragon/package.json", here), "utf8"));
if (installed.version !== version) {
  throw new Error(`openseadragon ${installed.version} is installed, the lock file says ${version}: run npm ci`);
}

mkdirSync(target, { recursive: true });
const files = {};
for (const [name, source] of Object.entries(copies)) {
  let bytes = readFileSync(new URL(`node_modules/openseadragon/${source}`, here));
  if (name.endsWith(".js")) {
    // The source map is not shipped; a browser's tools would ask for it in vain.
    bytes = Buffer.from(bytes.toString("utf8").replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));
  }
  writeFileSync(new URL(name, target), bytes);
  files[name] = createHash("sha256").update(bytes).digest("hex");
}
const record = { openseadragon: { version, integrity, sha256: files } };
writeFileSync(new URL("vendor.json", here), JSON.stringify(record, null, 2) + "\n");
console.log(`openseadragon ${version} -> ${fileURLToPath(target)}`);
