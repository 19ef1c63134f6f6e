/**
 * A bundled program as V8 compiles it. The build runs each program once and keeps the compiled code
 * beside it, in a file for this kind of processor; V8 ignores code of another version of itself.
 * Without the file a start takes longer.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";

interface CompiledProgram {
  run(): void;
  /** Writes the code of all functions that have run. */
  writeCode(): void;
}

type Wrapped = (
  require: NodeJS.Require,
  file: string,
  directory: string,
  importModule: (name: string) => Promise<unknown>,
) => void;

/** `file`: a CommonJS module of ASCII characters. */
export function compileProgram(file: string): CompiledProgram {
  // What a start allocates is kept: without this V8 doubles the space for new objects meanwhile.
  setFlagsFromString("--semi-space-growth-factor=1");
  const codeFile = `${file}.${process.arch}.code`;
  const cachedData = readCode(codeFile);
  const script = new Script(
    // V8 holds such a text in one byte for each character.
    `(function (require, __filename, __dirname, __import) {${readFileSync(file, "latin1")}\n})`,
    {
      filename: file,
      ...(cachedData === null ? {} : { cachedData }),
    },
  );
  return {
    run() {
      const wrapped = script.runInThisContext() as Wrapped;
      // A script has no `import()` of its own without an experimental flag.
      wrapped(createRequire(file), file, dirname(file), (name) => import(name));
    },
    writeCode: () => writeFileSync(codeFile, script.createCachedData()),
  };
}

function readCode(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    // It wasn't built for this kind of processor.
    return null;
  }
}
