/**
 * A registry as npm's, with one package more: as if it were published. What it doesn't have it asks
 * of the registry that this machine uses.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { run } from "./run.js";

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/** `npmPackage`: the file that `npm pack` has made. */
export async function startRegistry(npmPackage: string): Promise<Registry> {
  const upstream = run("npm", ["config", "get", "registry"]).trim();
  const bytes = readFileSync(npmPackage);
  const manifest = JSON.parse(
    run("tar", ["-xzOf", npmPackage, "package/package.json"]),
  ) as Readonly<Record<"name" | "version", string>>;
  const server = createServer((request, response) => {
    const { url = "/" } = request;
    if (url === "/package.tgz") return void response.end(bytes);
    if (url !== `/${manifest.name}`)
      return void response.writeHead(307, { location: new URL(url.slice(1), upstream).href }).end();
    const dist = {
      tarball: `http://${request.headers.host}/package.tgz`,
      integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        name: manifest.name,
        "dist-tags": { latest: manifest.version },
        // As the registry says of a package that carries a lock.
        versions: { [manifest.version]: { ...manifest, _hasShrinkwrap: true, dist } },
      }),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
