/**
 * Loaded into a program that a test starts with `intervals`: a timer of exactly so many ms, such as
 * that at which the proxy looks at its certificate, is shorter. Nothing else changes.
 */
const name = "TEST_INTERVALS";
const shorter = new Map(Object.entries(JSON.parse(process.env[name]!) as Record<string, number>));
delete process.env[name];
const { setInterval: startInterval, setTimeout: startTimeout } = globalThis;
const shortInterval = (run: () => void, ms = 0, ...given: []): NodeJS.Timeout =>
  startInterval(run, shorter.get(String(ms)) ?? ms, ...given);
const shortTimeout = (run: () => void, ms = 0, ...given: []): NodeJS.Timeout =>
  startTimeout(run, shorter.get(String(ms)) ?? ms, ...given);
globalThis.setInterval = Object.assign(shortInterval, startInterval);
globalThis.setTimeout = Object.assign(shortTimeout, startTimeout);
