/**
 * Runs the test files that `SLUICE_TEST_FILES` names, in one process, and ends at the first
 * failure: a fault that was noticed needn't be noticed again, nor be shrunk to its smallest
 * example. They aren't arguments: tap names the directories of `t.testdir` after those, and of many
 * files the name is too long, which fails whatever the fault.
 */
import fc from "fast-check";

fc.configureGlobal({ endOnFailure: true });
const files = JSON.parse(process.env["SLUICE_TEST_FILES"] ?? "[]") as readonly string[];
for (const file of files) await import(file);
