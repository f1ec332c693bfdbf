/** `npm run build`: brings the Prisma client and `dist` up to date. Needs installed packages. */
import { ensureBuilt } from './local/build.ts';
import { createStatus } from './local/status.mjs';

await ensureBuilt(createStatus());
