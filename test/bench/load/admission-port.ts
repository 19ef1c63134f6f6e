/**
 * What the admission load needs of a limiter: the daemon and Redis each stand behind one of these.
 */

export interface AdmissionEvents {
  /** The verdict on the admission of this slot. */
  onVerdict(slot: number, admitted: boolean): void;
  /** No verdict on this slot: the engine that hosts share didn't answer in time. */
  onUnavailable?(slot: number): void;
  /** So many more settles are acknowledged. */
  onSettled(settles: number): void;
  /** The limiter is gone or answers nonsense: the run can't go on. */
  onLost(error: Error): void;
}

/** A slot is one admission in flight; its settle comes before its next admission. */
export interface AdmissionPort {
  /** Receives the verdicts; `unattended` while no load runs. */
  events: AdmissionEvents;
  admit(slot: number, tenant: number): void;
  settle(slot: number): void;
  /** Whatever would disturb a phase is done before it. */
  prepare(): Promise<void>;
}

/** Nothing is under way, so nothing may come; a limiter that goes away now ends the process. */
export const unattended: AdmissionEvents = {
  onVerdict() {
    throw new Error("an unexpected verdict arrived");
  },
  onSettled() {
    throw new Error("a settle was acknowledged twice");
  },
  onLost(error) {
    throw error;
  },
};
