/** Prints progress lines for each part. `step` adds the time that `work` took. */
export function createStatus({ quiet = false } = {}) {
  const say = (subject, text) => {
    if (!quiet) process.stdout.write(`${subject.padEnd(16)} ${text}\n`);
  };
  const step = async (subject, work) => {
    const started = performance.now();
    const text = await work();
    say(subject, `${text ?? 'done'} (${seconds(performance.now() - started)})`);
  };
  return { say, step };
}

export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
