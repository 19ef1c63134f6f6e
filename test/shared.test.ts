/** All of `test/shared`. */
import { testFolder } from "./folder.js";

await testFolder("shared");
