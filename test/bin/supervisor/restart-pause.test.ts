import t from "tap";
import { afterExit, restartPause } from "../../../bin/supervisor/restart-pause.js";

t.test(
  "the pause doubles from 100 ms to 5 s while a service keeps dying, and starts over after 10 s of life",
  async (t) => {
    const table = [
      { livedMs: 0, previousPauseMs: null, pauseMs: 100 },
      { livedMs: 50, previousPauseMs: 100, pauseMs: 200 },
      { livedMs: 50, previousPauseMs: 200, pauseMs: 400 },
      { livedMs: 9_999, previousPauseMs: 400, pauseMs: 800 },
      { livedMs: 10_000, previousPauseMs: 400, pauseMs: 100 },
      { livedMs: 60_000, previousPauseMs: 5_000, pauseMs: 100 },
      { livedMs: 50, previousPauseMs: 3_200, pauseMs: 5_000 },
      { livedMs: 50, previousPauseMs: 5_000, pauseMs: 5_000 },
    ];
    for (const { pauseMs, ...life } of table)
      t.equal(restartPause(life), pauseMs, JSON.stringify(life));
  },
);

t.test(
  "a service that exits with a reason at its first start is given up; after every other end it is restarted",
  async (t) => {
    const giveUp = (exitCode: number): object => ({ kind: "give-up", exitCode });
    const restart = { kind: "restart", pauseMs: 100 };
    const table = [
      { code: 78, signal: null, wasReady: false, next: giveUp(78) },
      { code: 2, signal: null, wasReady: false, next: giveUp(2) },
      { code: 75, signal: null, wasReady: false, next: giveUp(75) },
      { code: 74, signal: null, wasReady: false, next: giveUp(74) },
      { code: 1, signal: null, wasReady: false, next: giveUp(1) },
      { code: 70, signal: null, wasReady: false, next: restart },
      { code: 0, signal: null, wasReady: false, next: restart },
      { code: null, signal: "SIGKILL", wasReady: false, next: restart },
      { code: null, signal: null, wasReady: false, next: restart },
      { code: 78, signal: null, wasReady: true, next: restart },
      { code: 75, signal: null, wasReady: true, next: restart },
    ];
    for (const { code, signal, wasReady, next } of table) {
      t.same(
        afterExit({ exit: { code, signal }, wasReady, livedMs: 10, previousPauseMs: null }),
        next,
        JSON.stringify({ code, signal, wasReady }),
      );
    }
  },
);
