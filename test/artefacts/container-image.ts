/**
 * The container image, built as its page says, from a base of Debian's packages since no registry
 * of images is asked, and run by runc under the conditions of the examples.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { debianRoot } from "./debian-root.js";
import { notInstalled, repository, run } from "./run.js";

/** As in the Dockerfile. */
export const user = 65532;
export const volumes = ["/run/sluice", "/var/lib/sluice", "/tmp"] as const;

/** Why no image can be built and run here; null: it can be tried. */
export function whyNotHere(): string | null {
  if (process.getuid?.() !== 0) return "only root can build and run images here";
  return notInstalled(["buildah", "runc", "mmdebstrap"]);
}

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface Image {
  readonly root: string;
  readonly config: ImageConfig;
  /** What a registry keeps and a node downloads: its layers, compressed. */
  readonly compressedBytes: number;
}

/** `tarball`: as `packTarball` has made it. `folder`: for all that buildah makes. */
export function buildImage(tarball: string, folder: string): Image {
  const store = ["--root", join(folder, "images"), "--runroot", join(folder, "running")];
  const buildah = (...args: string[]): string =>
    run("buildah", [...store, "--storage-driver=vfs", ...args], {
      env: { ...process.env, BUILDAH_ISOLATION: "chroot" },
    }).trim();
  buildBase(folder, buildah);
  const context = join(folder, "context");
  mkdirSync(context);
  execFileSync("cp", [tarball, context]);
  const file = join(repository, "docs/examples/container/Dockerfile");
  const args = ["--format=docker", "--build-arg=BASE=localhost/base", `--file=${file}`];
  buildah("bud", "--quiet", "--tag=localhost/sluice", ...args, context);
  const archive = join(folder, "archive");
  buildah("push", "--quiet", "localhost/sluice", `dir:${archive}`);
  const { layers } = JSON.parse(readFileSync(join(archive, "manifest.json"), "utf8")) as {
    readonly layers: readonly { readonly size: number }[];
  };
  const compressedBytes = layers.reduce((sum, { size }) => sum + size, 0);
  const container = buildah("from", "--pull-never", "localhost/sluice");
  const { Docker } = JSON.parse(buildah("inspect", container)) as {
    Docker: { config: ImageConfig };
  };
  return { root: buildah("mount", container), config: Docker.config, compressedBytes };
}

/** Builds `localhost/base`, the base image, in a subfolder. */
export function buildBase(folder: string, buildah: (...args: readonly string[]) => unknown): void {
  const context = join(folder, "base");
  mkdirSync(context);
  const packages = ["libstdc++6", "libc6", "ca-certificates"];
  const base = debianRoot({ name: "container", variant: "extract", packages });
  execFileSync("cp", [base, join(context, "base.tar")]);
  writeFileSync(join(context, "Dockerfile"), "FROM scratch\nADD base.tar /\n");
  buildah("bud", "--quiet", "--tag=localhost/base", context);
}

export interface RunOptions {
  readonly env: readonly string[];
  /** As Kubernetes makes an emptyDir: root's, open to all, with the group of `fsGroup`. */
  readonly emptyDirs: boolean;
  /** In place of the image's user, with the group root, as OpenShift chooses it. */
  readonly uid?: number;
}

export interface Container {
  readonly process: ChildProcess;
  said(): string;
  /** Runs a program in it. */
  exec(...args: readonly string[]): string;
  /** What it ended with after SIGTERM. */
  stop(): Promise<number | null>;
  /** Ends it at once, if it still runs. */
  kill(): void;
}

/**
 * Read-only root, the image's user, no capability, no new privilege, processes of its own; on the
 * network of this host.
 */
export function runContainer(
  { root, config }: Image,
  folder: string,
  { env, emptyDirs, uid }: RunOptions,
): Container {
  const bundle = join(folder, `bundle-${Math.random().toString(36).slice(2)}`);
  mkdirSync(bundle);
  const mounts = volumes.map((destination, i) => {
    if (!emptyDirs)
      return {
        ...{ destination, type: "tmpfs", source: "tmpfs" },
        options: ["nosuid", "nodev", `uid=${user}`, `gid=${user}`, "mode=0750"],
      };
    const source = join(bundle, `volume-${i}`);
    mkdirSync(source);
    chownSync(source, 0, user);
    chmodSync(source, 0o2777);
    return { destination, type: "bind", source, options: ["rbind", "rw"] };
  });
  const none = { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] };
  const spec = {
    ociVersion: "1.0.2",
    root: { path: root, readonly: true },
    process: {
      user: uid === undefined ? { uid: user, gid: user } : { uid, gid: 0 },
      args: [...config.Entrypoint, ...config.Cmd],
      env: [...config.Env, ...env],
      cwd: config.WorkingDir,
      noNewPrivileges: true,
      capabilities: none,
    },
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
      ...mounts,
    ],
    linux: { namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })) },
  };
  writeFileSync(join(bundle, "config.json"), JSON.stringify(spec));
  const name = `sluice-test-${process.pid}-${bundle.slice(-8)}`;
  const runc = ["--root", join(folder, "runc")];
  const child = spawn("runc", [...runc, "run", "--bundle", bundle, name], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
  const ended = once(child, "close") as Promise<[number | null]>;
  return {
    process: child,
    said: () => text,
    exec: (...args) => run("runc", [...runc, "exec", name, ...args]),
    async stop() {
      spawnSync("runc", [...runc, "kill", name, "TERM"]);
      const [code] = await ended;
      return code;
    },
    kill: () => void spawnSync("runc", [...runc, "delete", "--force", name]),
  };
}
