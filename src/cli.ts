#!/usr/bin/env node
import { fileURLToPath } from 'node:url';

import { processIo } from './cli/io.js';
import { main } from './cli/main.js';

const code = await main(process.argv.slice(2), processIo(), fileURLToPath(import.meta.url));
// The callback comes once everything written before has left for the pipe; exiting at once would cut it off.
process.stdout.write('', () => process.exit(code));
