// Lints docs/openapi.json with redocly's strictest rules. Needs no network.

import { createConfig, formatProblems, getTotals, lint } from '@redocly/openapi-core';

const config = await createConfig({ extends: ['recommended-strict'] });
const problems = await lint({ ref: 'docs/openapi.json', config });
const totals = getTotals(problems);
if (problems.length > 0) formatProblems(problems, { format: 'codeframe', totals, version: '' });
process.exitCode = totals.errors + totals.warnings === 0 ? 0 : 1;
