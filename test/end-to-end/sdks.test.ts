/** All of `test/end-to-end/sdks`. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/sdks", { oneByOne: true });
