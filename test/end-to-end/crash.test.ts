/** All of `test/end-to-end/crash`, except what takes minutes: `npm run heavy` runs that. */
import { testFolder } from "../run-folder.js";

await testFolder("end-to-end/crash", {
  oneByOne: true,
  without: [
    "backup-drill.test.ts",
    "crash-matrix.test.ts",
    "hard-caps-changes.test.ts",
    "hard-caps-crash.test.ts",
  ],
});
