/**
 * A spool in the temporary directory: a file that is unlinked immediately, so that nothing remains
 * however the process ends.
 */

import { randomUUID } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Spool, SpoolFailed } from "./body-spool.js";

const pieceBytes = 64 * 1024;

export async function createSpoolFile(): Promise<Spool> {
  const path = join(tmpdir(), `sluice-upload-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600).catch(fail);
  await unlink(path).catch(fail);
  let bytes = 0;
  return {
    async write(chunk) {
      for (let written = 0; written < chunk.length; )
        written += (
          await file.write(chunk, written, chunk.length - written, bytes + written).catch(fail)
        ).bytesWritten;
      bytes += chunk.length;
    },
    async *read() {
      for (let position = 0; position < bytes; ) {
        const piece = Buffer.allocUnsafe(Math.min(pieceBytes, bytes - position));
        const { bytesRead } = await file.read(piece, 0, piece.length, position).catch(fail);
        position += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    },
    close: () => void file.close().catch(() => {}),
  };
}

function fail(cause: NodeJS.ErrnoException): never {
  throw new SpoolFailed(`the upload can't be kept on disk (${cause.code ?? cause.message})`, {
    cause,
  });
}
