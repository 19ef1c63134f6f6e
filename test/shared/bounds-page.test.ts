/** Holds the values on docs/reference/bounds.md to the bounds of the code. */
import { readFileSync } from "node:fs";
import t from "tap";
import * as bounds from "../../shared/bounds.js";
import * as credentials from "../../shared/domain/credential-bounds.js";
import * as sessions from "../../shared/wire/dashboard-session.js";
import * as objects from "../../shared/wire/stored-object.js";

// The compiled test is three directories below the repository.
const page = readFileSync(new URL("../../../docs/reference/bounds.md", import.meta.url), "utf8");

/** The value in the row that begins so, and what follows. */
function row(name: string): string {
  const found = page.split("\n").filter((line) => line.startsWith(`| ${name}`));
  t.equal(found.length, 1, `rows that begin with: ${name}`);
  return found[0]?.slice(name.length + 2) ?? "";
}

const count = (value: number): string => value.toLocaleString("en-US");
const kib = (value: number): string => `${value / 1024} KiB`;
const mib = (value: number): string => `${value / 1024 ** 2} MiB`;
const bytes = (value: number): string => `${count(value)} bytes`;
const ms = (value: number): string => `${value} ms`;
const seconds = (value: number): string => `${value / 1000} s`;
const dayMs = 86_400_000;

const frames: readonly (readonly [row: string, ...values: string[]])[] = [
  ["frame towards the daemon", kib(bounds.frameBytesMaxToDaemon)],
  ["frame from the daemon", mib(bounds.frameBytesMaxFromDaemon)],
  ["frames that wait for a peer", mib(bounds.peerBacklogBytesMax)],
  ["connections to each of the daemon's sockets", count(bounds.peersMax)],
  ["lists and sums that one peer waits for", count(bounds.readsWaitingMax)],
  ["leases of one proxy", count(bounds.leasesPerPeerMax)],
  ["leases in one `hello` frame", count(bounds.leasesPerHello)],
  ["a fresh connection without a hello", seconds(bounds.helloDeadlineMs)],
  ["a command line that asks for nothing", `${bounds.commandIdleMs / 60_000} min`],
  ["path of the socket", bytes(bounds.socketPathBytesMax)],
  ["wait for the proxies that", ms(bounds.reconnectGraceMs)],
  ["pause between two attempts of a proxy", ms(bounds.reconnectMs)],
  ["wait of a stopping daemon", ms(bounds.lingerMs)],
  [
    "settles that a proxy keeps",
    count(bounds.settleOutboxMax),
    `${count(bounds.settlesKeptAsTheyAre)} as they are`,
  ],
  ["files of settles that stopped proxies", mib(bounds.spoolBytesMax)],
  ["frames that a proxy sends before", `${bounds.framesPerWindow} of each`],
  ["settles that a proxy sends before", count(bounds.settlesPerWindow)],
  [
    "settles on their way to be acknowledged",
    count(bounds.settlesUnacknowledgedMax),
    ms(bounds.acknowledgementWaitMs),
  ],
  ["admissions that wait in a proxy", count(bounds.admissionsWaitingMax)],
];

const stored: typeof frames = [
  ["user path |", bytes(bounds.userPathBytesMax), `${bounds.userPathSegmentsMax} segments`],
  ["provider or model name", bytes(bounds.subjectBytesMax)],
  ["period of a rule or budget", `${bounds.periodSecondsMax / (365 * 86_400)} years`],
  ["targets of one request", count(bounds.candidatesMax)],
  ["rules in one page of a list", count(bounds.itemsPerPage)],
  [
    "refusals that can be explained",
    count(bounds.refusalsMax),
    `${bounds.refusalBytesMax / 1024} KiB`,
  ],
  ["delay of a settle's commit", ms(bounds.commitDelayMs)],
  ["delay of an admission's commit", ms(bounds.countedCommitDelayMs)],
  ["settles in a batch", count(bounds.journalBatchMax), count(bounds.journalCountedMax)],
  ["windows or roll-ups written in one slice", count(bounds.windowsPerSlice)],
  ["journal while `flush_interval` is 0", mib(bounds.journalBytesMax)],
  ["settles and halves of windows that wait", count(bounds.journalEntriesMax)],
  ["other changes that wait for such a store", count(bounds.changesWaitingMax)],
  ["starts of the daemon", count(bounds.epochsMax)],
  ["a proxy that hasn't connected", `${bounds.settledRetentionMs / dayMs} days`],
  [`children of a template | ${count(bounds.childrenPerTemplateMax)},`],
  [
    "children that the sweep looks at",
    count(bounds.childrenPerSweep),
    `within ${bounds.secondsToSweepAll} s`,
  ],
];

const usage: typeof frames = [
  ["a record that comes late", `${bounds.recordLatenessMs / dayMs} days`],
  ["roll-ups in memory", `generations of ${count(bounds.rollupCellsMax)}`],
  ["pause between two writes of roll-ups", seconds(bounds.usageFlushMs)],
  [
    "roll-ups that changed, and records",
    `${count(bounds.rollupsDirtyMax)}, ${count(bounds.rollupRecordsMax)} |`,
  ],
  ["models of a provider and day", `${bounds.unlistedModelsMax} for each proxy`],
  ["models of a path and day", count(bounds.modelsPerDayMax)],
  ["roll-ups read from the store", count(bounds.rollupsPerSlice)],
  ["unwritten roll-ups searched", count(bounds.unstoredPerSlice)],
  ["records read in one go", count(bounds.recordsPerTurn)],
  ["records in a page of an export", count(bounds.exportedRecordsMax)],
  [
    "groups of a summary",
    `${count(bounds.usageGroupsMax)} shown`,
    `${count(bounds.usageGroupsHeldMax)} told apart`,
  ],
  ["days of one usage query", count(bounds.usageDaysMax)],
  ["retention of roll-ups", `${bounds.rollupDaysMin} days`],
  [
    "removal of old usage",
    `${bounds.batchesPerTrim} batches`,
    `${count(bounds.sumsPerTrim)} roll-ups`,
  ],
  ["targets whose price is remembered", count(bounds.pricedTargetsMax)],
];

const whoMay: typeof frames = [
  ["managed keys", count(credentials.keysMax)],
  ["name of a key", bytes(credentials.keyNameBytesMax)],
  ["labels of a key", `${credentials.labelsPerKeyMax} of ${credentials.labelBytesMax} bytes`],
  ["old secrets of a rotated key", count(credentials.oldSecretsMax)],
  [
    "last use of a key on disk",
    `${credentials.keyUseWrittenMs / 60_000} minutes old`,
    `${credentials.keyUsesPerFlush} keys a second`,
  ],
  ["body that is read before its caller's key", kib(credentials.unauthorizedBodyBytesMax)],
  ["a JWT", kib(credentials.jwtBytesMax)],
  [
    "verified JWTs that a proxy remembers",
    count(credentials.verifiedTokensMax),
    seconds(credentials.verifiedTokenMs),
  ],
  [
    "denied JWTs",
    count(credentials.deniedJwtsMax),
    `${credentials.deniedClaimBytesMax} bytes each`,
    `${credentials.deniedJwtsPerPage} in a page`,
  ],
  ["an issuer's key set", mib(credentials.keySetBytesMax), seconds(credentials.keySetLoadMs)],
  ["such a body on its way", seconds(credentials.strangerBodyMs)],
  ["sessions |", count(sessions.sessionsMax)],
  ["of one key, of one path's JWTs", count(sessions.sessionsPerHolderMax)],
  [
    "a session |",
    `${sessions.sessionMs / 3_600_000} hours`,
    `${sessions.sessionIdleMs / 60_000} minutes`,
  ],
  ["objects whose owner is remembered", count(objects.objectsMax)],
  ["age of an owner", `${objects.objectDays} days`, `${objects.responseDays} days of a response`],
  ["ids in one question to the daemon", count(objects.objectsPerCall)],
];

for (const [name, table] of Object.entries({ frames, stored, usage, whoMay }))
  t.test(`the page on bounds has the values of the code: ${name}`, async (t) => {
    for (const [begin, ...values] of table) {
      const text = row(begin);
      for (const value of values) t.ok(` ${text}`.includes(` ${value}`), `${begin}: ${value}`);
    }
  });

t.test("shares, and the overlap of a rotation", async (t) => {
  t.equal(credentials.memoryForStrangersShare, 1 / 16, "a sixteenth");
  t.match(row("of it, bodies on their way"), /a sixteenth/);
  t.equal(credentials.rotationOverlapSeconds, 86_400, "a day");
});
