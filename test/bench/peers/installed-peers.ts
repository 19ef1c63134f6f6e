/**
 * The peers that aren't ours to bring: nginx and Redis, where they are installed, as one would
 * configure them for this job.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { freePort } from "../../support/processes/free-port.js";
import type { Processes, Running } from "../measure/processes.js";

/**
 * Its full path, or null when it isn't installed. Debian keeps servers in `sbin`, which not every
 * caller's PATH names.
 */
export function findProgram(name: string): string | null {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return dirs.map((dir) => join(dir, name)).find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Absent or not ours to run: either way not there for us.
    return false;
  }
}

/** The first version number that the program prints. */
export function programVersion(file: string, flag: string): string {
  const { stdout, stderr } = spawnSync(file, [flag], { encoding: "utf8" });
  return /\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? "unknown";
}

/** One worker, keep-alive on both sides, no access log. */
export async function startNginx(
  processes: Processes,
  dir: string,
  file: string,
  upstreamUrl: string,
): Promise<Running> {
  mkdirSync(dir, { recursive: true });
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${join(dir, kind)};`)
    .join(" ");
  const config = join(dir, "nginx.conf");
  writeFileSync(
    config,
    `
daemon off;
worker_processes 1;
pid ${join(dir, "nginx.pid")};
error_log ${join(dir, "error.log")};
events { worker_connections 8192; }
http {
  access_log off;
  client_max_body_size 0;
  client_body_buffer_size 4m;
  proxy_max_temp_file_size 0;
  ${temporary}
  upstream provider { server ${new URL(upstreamUrl).host}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    keepalive_requests 1000000000;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  );
  const running = await processes.program(file, ["-p", dir, "-c", config], {
    host: "127.0.0.1",
    port,
  });
  return { ...running, url: `http://127.0.0.1:${port}` };
}

/**
 * On a Unix socket alone, with an append-only file that is flushed once a second: what the daemon
 * keeps across a crash, near enough.
 */
export async function startRedis(
  processes: Processes,
  dir: string,
  file: string,
): Promise<{ readonly redis: Running; readonly socket: string }> {
  mkdirSync(dir, { recursive: true });
  const socket = join(dir, "redis.sock");
  const settings = {
    port: "0",
    unixsocket: socket,
    dir: dir,
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
    // Rewritten between the phases instead.
    "auto-aof-rewrite-percentage": "0",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return { redis: await processes.program(file, args, { path: socket }), socket };
}
