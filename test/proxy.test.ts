/** All of `test/proxy`. */
import { testFolder } from "./run-folder.js";

await testFolder("proxy");
