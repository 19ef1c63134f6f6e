/** How much CPU time something takes, which other programs on the machine hardly change. */

/** CPU time of this process during the call, in ms. */
export function cpuMsOf(run: () => void): number {
  const begun = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}
