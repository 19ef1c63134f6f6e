import t from "tap";
import {
  EngineFault,
  faultOf,
  isAboutCommand,
  refusalOf,
  refusesWrites,
  unreadableFile,
} from "../../../../limiterd/cluster/engine/engine-faults.js";

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError", command: { args: ["geheim"] } });
}

function failed(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

t.test("each fault has a sentence", async (t) => {
  for (const [error, sentence] of [
    [
      failed("connect ECONNREFUSED 10.0.0.1:6379", "ECONNREFUSED"),
      /nothing listens .*: check cluster\.url$/,
    ],
    [failed("getaddrinfo EAI_AGAIN x", "EAI_AGAIN"), /can't be resolved: check cluster\.url$/],
    [failed("connect ENETUNREACH", "ENETUNREACH"), /no network leads .* unit's cluster\.conf$/],
    [failed("connect EAFNOSUPPORT", "EAFNOSUPPORT"), /no network leads/],
    [
      failed("self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT"),
      /isn't trusted \(DEPTH_ZERO/,
    ],
    [failed("Hostname/IP does not match", "ERR_TLS_CERT_ALTNAME_INVALID"), /see cluster\.ca_file/],
    [failed("certificate has expired", "CERT_HAS_EXPIRED"), /isn't trusted/],
    [failed("ssl3_get_record:wrong version number", "ERR_SSL_WRONG_VERSION_NUMBER"), /in TLS/],
    [failed("Socket timeout. Expecting data"), /hasn't answered in time: .*a firewall/],
    [reply("WRONGPASS invalid username-password pair or user is disabled."), /its password/],
    [reply("NOAUTH Authentication required."), /wants a password/],
    [reply("NOPERM this user has no permissions to run the 'hset' command"), /hset is refused/],
    [reply("ERR unknown command 'EVALSHA', with args"), /no Lua scripts/],
    [reply("ERR unknown command 'hello'"), /doesn't know .*: use Valkey 7\.2, Redis 7\.0/],
    [reply("READONLY You can't write against a read only replica."), /replica that takes no/],
    [reply("OOM command not allowed when used memory > 'maxmemory'."), /is full/],
    [reply("MISCONF Redis is configured to save"), /write its data to disk/],
    [reply("LOADING Redis is loading the dataset in memory"), /reading its data/],
    [reply("CLUSTERDOWN The cluster is down"), /Cluster is away/],
    [failed("All sentinels are unreachable and retry is disabled."), /no Sentinel answers/],
    [failed('Protocol error, got "H" as reply type byte'), /no Valkey or Redis/],
    [failed("Command queue state error"), /wasn't asked: connect without a proxy/],
    [failed("Connection is closed."), /closed the connection: check its maxclients/],
    [failed("something\nelse"), /fails: something$/],
    [new EngineFault("as it is"), /^as it is$/],
    [unreadableFile("cluster.ca_file", failed("", "EACCES")), /cluster\.ca_file .*\(EACCES\)/],
    ["text", /fails: text/],
  ] as const) {
    t.match(faultOf(error), sentence);
    t.notMatch(faultOf(error), /geheim|\.$/);
  }
});

t.test("what is refused is named with its key", async (t) => {
  const keys = ["sluice:c:spend:b"];
  const said =
    "ERR user_script:12: attempt to compare nil with number script: 1a2b, on @user_script:12.";
  t.equal(
    refusalOf(reply(said), { command: "the script sync", keys }),
    'the script sync fails in the engine, on the key "sluice:c:spend:b": ERR user_script:12: attempt to compare nil with number',
  );
});

t.test("what is about one command, and what about the engine", async (t) => {
  for (const [message, about, refuses] of [
    ["WRONGTYPE Operation against a key", true, false],
    ["CONFLICT of a script", true, false],
    ["ERR value is not an integer", true, false],
    ["OOM command not allowed", false, true],
    ["NOREPLICAS Not enough good replicas", false, true],
    ["MISCONF Errors writing", false, true],
    ["READONLY You can't", false, false],
    ["MOVED 1 127.0.0.1:1", false, false],
  ] as const) {
    t.equal(isAboutCommand(reply(message)), about, message);
    t.equal(refusesWrites(reply(message)), refuses, message);
  }
  t.notOk(isAboutCommand(failed("WRONGTYPE of no reply")));
  t.notOk(isAboutCommand("WRONGTYPE"));
});
