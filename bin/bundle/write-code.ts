/**
 * A part of the build: runs the program that the arguments name, with the other arguments, and
 * writes its compiled code when it ends.
 */
import { compileProgram } from "./compiled-program.js";

process.argv.splice(1, 1);
const program = compileProgram(process.argv[1]!);
process.on("exit", () => program.writeCode());
// A service ends without the listeners of its exit.
process.once("SIGINT", () => program.writeCode());
program.run();
