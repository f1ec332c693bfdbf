/**
 * @typedef {object} Status
 * @property {(subject: string, text: string) => void} say
 * @property {(subject: string, work: () => Promise<unknown>) => Promise<void>} step
 */

/**
 * Prints progress lines for each part. `step` adds the time that `work` took.
 * @returns {Status}
 */
export function createStatus({ quiet = false } = {}) {
  /** @type {Status['say']} */
  const say = (subject, text) => {
    if (!quiet) process.stdout.write(`${subject.padEnd(16)} ${text}\n`);
  };
  /** @type {Status['step']} */
  const step = async (subject, work) => {
    const started = performance.now();
    const text = await work();
    say(subject, `${text ?? 'done'} (${seconds(performance.now() - started)})`);
  };
  return { say, step };
}

/** @param {number} milliseconds */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
