/** Keeps a file in memory, and compresses it in another thread when a client first asks for it. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import type { Coding, KeptFile } from "./reply-file.js";

const compressors = { br: promisify(brotliCompress), gzip: promisify(gzip) };

export function keptFile(identity: Buffer, contentType: string): KeptFile {
  const byCoding = new Map<Coding, Promise<Buffer>>([["identity", Promise.resolve(identity)]]);
  return {
    contentType,
    etag: `W/"${createHash("sha256").update(identity).digest("base64url").slice(0, 22)}"`,
    bytes(coding) {
      const cached = byCoding.get(coding);
      if (cached !== undefined || coding === "identity") return cached ?? Promise.resolve(identity);
      const making = compressors[coding](identity);
      byCoding.set(coding, making);
      return making;
    },
  };
}
