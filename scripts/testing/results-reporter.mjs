import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from '../local/project.mjs';

const ERROR_LENGTH_MAX = 240;

/**
 * A reporter for Jest that notes in the file `TEST_RESULTS` when a test file begins, and as soon as it has ended what came of it, a
 * line each: so they are known also of a run that breaks down or is cut off. Jest's own report is written at the end, or never.
 */
export default class ResultsReporter {
  onTestFileStart({ path }) {
    note({ begun: relative(ROOT, path) });
  }

  onTestFileResult({ path }, { numPassingTests, testResults, testExecError, failureMessage, perfStats }) {
    const failures = testResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({ title: fullName, error: inShort(failureMessages[0]) }));
    // What no test is to blame for: the file cannot be loaded, its last hook fails, its process has died.
    if (testExecError) failures.push({ title: '(the file itself)', error: inShort(testExecError.stack || failureMessage) });
    note({ ended: relative(ROOT, path), passed: numPassingTests, failures, ms: perfStats.runtime });
  }
}

function note(line) {
  appendFileSync(process.env.TEST_RESULTS, `${JSON.stringify(line)}\n`);
}

/** The first line of an error; of a comparison also what was wanted and what there was, or the first lines that differ. */
function inShort(error = '') {
  const lines = stripVTControlCharacters(error)
    .split('\n')
    .map((line) => line.trim());
  const [first = ''] = lines.filter(Boolean);
  const compared = lines.filter((line) => /^(Expected|Received)\b.*: ./.test(line) || /^[-+] (?!(Expected|Received) )/.test(line));
  return [first, ...compared.slice(0, 2)].join('; ').slice(0, ERROR_LENGTH_MAX);
}
