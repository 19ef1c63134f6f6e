/** All of `test/bin`. */
import { testFolder } from "./folder.js";

await testFolder("bin");
