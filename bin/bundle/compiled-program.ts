/**
 * Loads a bundled program with V8's code cache. The build runs each program once and stores the
 * compiled code beside it, in one file per kind of processor; without that file the program starts
 * more slowly. V8 rejects code of another V8 version, but accepts code of another source of the
 * same length, so the file begins with a digest of the source.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

interface CompiledProgram {
  /** Whether it was compiled before; otherwise V8 compiles it now. */
  readonly isCompiled: boolean;
  run(): void;
  /** Writes the code of all functions that have run. */
  writeCode(): void;
}

type ModuleFunction = (
  require: NodeJS.Require,
  file: string,
  directory: string,
  importModule: (name: string) => Promise<unknown>,
) => void;

const head = Buffer.from("(function (require, __filename, __dirname, __import) {");
const tail = Buffer.from("\n})");

/** `file`: a CommonJS module of ASCII characters. */
export function compileProgram(file: string): CompiledProgram {
  // V8 accepts compiled code only if its flags are those under which the code was written. A
  // supervisor starts its services with others, which V8 has read before it ran anything.
  setFlagsFromString("--max-semi-space-size=0");
  setFlagsFromString("--memory-reducer");
  const bytes = Buffer.concat([head, readFileSync(file), tail]);
  const digest = createHash("sha256").update(bytes).digest();
  // V8 uses this string in place, with one byte per character. It would copy a concatenated one.
  const text = bytes.toString("latin1");
  const codeFile = `${file}.${process.arch}.code`;
  const cachedData = readCode(codeFile, digest);
  const script = new Script(text, {
    filename: file,
    ...(cachedData === null ? {} : { cachedData }),
  });
  return {
    isCompiled: script.cachedDataRejected === false,
    run() {
      const wrapped = script.runInThisContext() as ModuleFunction;
      // A script has no `import()` of its own without an experimental flag.
      wrapped(createRequire(file), file, dirname(file), (name) => import(name));
    },
    writeCode() {
      writeFileSync(codeFile, Buffer.concat([digest, script.createCachedData()]));
    },
  };
}

function readCode(file: string, digest: Buffer): Buffer | null {
  try {
    const bytes = readFileSync(file);
    const isOfText = bytes.subarray(0, digest.length).equals(digest);
    return isOfText ? bytes.subarray(digest.length) : null;
  } catch {
    // The code wasn't compiled for this kind of processor.
    return null;
  }
}
