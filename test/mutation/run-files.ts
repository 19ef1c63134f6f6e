/**
 * Runs the test files that it is given, in one process, and ends at the first failure: a fault that
 * was noticed needn't be noticed again, nor be shrunk to its smallest example.
 */
import fc from "fast-check";

fc.configureGlobal({ endOnFailure: true });
for (const file of process.argv.slice(2)) await import(file);
