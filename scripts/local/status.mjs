/**
 * Short lines on the console: what is happening, to which part. `step` times a piece of work.
 * A quiet one writes nothing.
 */
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
