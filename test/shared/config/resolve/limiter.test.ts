import t from "tap";
import { defaultDataDir, defaultSocket } from "../../../../shared/config/resolve/limiter.js";
import { absolutePath } from "../../../../shared/config/resolve/resolve-settings.js";

t.test("the socket is where the user's runtime files are", async (t) => {
  for (const [env, uid, path] of [
    [{ XDG_RUNTIME_DIR: "/run/user/0" }, 0, "/run/sluice/limiterd.sock"],
    [{ XDG_RUNTIME_DIR: "/run/user/7/" }, 7, "/run/user/7/sluice/limiterd.sock"],
    [{ XDG_RUNTIME_DIR: "" }, 7, "/tmp/sluice-7/limiterd.sock"],
    [{ XDG_RUNTIME_DIR: "relative" }, 7, "/tmp/sluice-7/limiterd.sock"],
    [{}, 7, "/tmp/sluice-7/limiterd.sock"],
  ] as const) {
    t.equal(defaultSocket(env, uid), path, JSON.stringify({ env, uid }));
  }
});

t.test("the data directory is that of systemd, else in the user's state directory", async (t) => {
  for (const [env, uid, path] of [
    [{ STATE_DIRECTORY: "/var/lib/private/sluice:/var/lib/other" }, 7, "/var/lib/private/sluice"],
    [{ STATE_DIRECTORY: "/s" }, 0, "/s"],
    [{ STATE_DIRECTORY: "", HOME: "/root" }, 0, "/var/lib/sluice"],
    [{ XDG_STATE_HOME: "/x/", HOME: "/home/a" }, 7, "/x/sluice"],
    [{ HOME: "/home/a" }, 7, "/home/a/.local/state/sluice"],
    [{ HOME: "/" }, 7, "/.local/state/sluice"],
    [{}, 7, "/var/lib/sluice"],
  ] as const) {
    t.equal(defaultDataDir(env, uid), path, JSON.stringify({ env, uid }));
  }
});

t.test("relative paths start from the working directory", async (t) => {
  for (const [path, cwd, expected] of [
    ["/a", "/w", "/a"],
    ["a/b", "/w", "/w/a/b"],
    ["./a", "/w/", "/w/a"],
    [".//./a", "/", "/a"],
    ["../a", "/w", "/w/../a"],
  ] as const) {
    t.equal(absolutePath(path, cwd), expected, path);
  }
});
