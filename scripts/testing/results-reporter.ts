import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from '../local/project.mjs';

const ERROR_LENGTH_MAX = 240;

interface TestFile {
  path: string;
}

/** The result of a file. */
interface TestFileResult {
  numPassingTests: number;
  testResults: { status: string; fullName: string; failureMessages: string[] }[];
  testExecError?: { stack?: string };
  failureMessage?: string | null;
  perfStats: { runtime: number };
}

/**
 * A Jest reporter that appends a line to the file `TEST_RESULTS` when a test file starts and when it ends, so that the results of a
 * crashed run are known. Jest writes its own report only at the end.
 */
export default class ResultsReporter {
  onTestFileStart({ path }: TestFile): void {
    note({ begun: relative(ROOT, path) });
  }

  onTestFileResult({ path }: TestFile, { numPassingTests, testResults, testExecError, failureMessage, perfStats }: TestFileResult): void {
    const failures = testResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({ title: fullName, error: summarizeError(failureMessages[0]) }));
    // No test failed: the file could not be loaded, a hook failed, or the process died.
    if (testExecError) failures.push({ title: '(the file)', error: summarizeError(testExecError.stack || failureMessage || '') });
    note({ ended: relative(ROOT, path), passed: numPassingTests, failures, ms: perfStats.runtime });
  }
}

function note(line: object): void {
  appendFileSync(process.env.TEST_RESULTS ?? '', `${JSON.stringify(line)}\n`);
}

/** First line of an error; for a comparison also the expected and received values, or the first differing lines. */
function summarizeError(error = ''): string {
  const lines = stripVTControlCharacters(error)
    .split('\n')
    .map((line) => line.trim());
  const [first = ''] = lines.filter(Boolean);
  const compared = lines.filter((line) => /^(Expected|Received)\b.*: ./.test(line) || /^[-+] (?!(Expected|Received) )/.test(line));
  return [first, ...compared.slice(0, 2)].join('; ').slice(0, ERROR_LENGTH_MAX);
}
