#!/usr/bin/env node
/** Starts the bundled program beside this file: `sluice.cjs` beside `sluice.js`. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { compileProgram } from "./compiled-program.js";

const file = fileURLToPath(import.meta.url).replace(/\.js$/, ".cjs");
// Node maps stack traces to sources only in modules that it loads itself.
if (process.sourceMapsEnabled) createRequire(file)(file);
else compileProgram(file).run();
