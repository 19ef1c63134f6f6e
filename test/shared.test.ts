/** All of `test/shared`. */
import { testFolder } from "./run-folder.js";

await testFolder("shared");
