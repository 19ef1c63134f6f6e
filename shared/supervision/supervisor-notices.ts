/**
 * What a process tells its supervisor about itself, as sd_notify(3) has it: the port. Who takes the
 * notices, and how they get there, is not here.
 */

export interface Notice {
  /** It serves. */
  readonly ready?: true;
  readonly reloading?: true;
  readonly stopping?: true;
  readonly watchdog?: true;
  /** One line for people. */
  readonly status?: string;
  /** Another process is the service from now on. */
  readonly mainPid?: number;
}

export interface SupervisorNotices {
  /** Whether there is a supervisor that takes notices; without one, a successor isn't followed. */
  readonly taken: boolean;
  /** Resolves with whether the supervisor has it; never rejects. */
  send(notice: Notice): Promise<boolean>;
}

/** Without a supervisor. */
export const noNotices: SupervisorNotices = { taken: false, send: () => Promise.resolve(false) };
