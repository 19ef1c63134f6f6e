/** All of `test/limiterd`. */
import { testFolder } from "./folder.js";

await testFolder("limiterd");
