/**
 * What stands behind `npm start`, `npm test`, `npm run example` and `npm run bench`: installs and builds what is missing, then
 * hands over. Plain JavaScript without dependencies, because it runs before there are any.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants as osConstants, homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const at = (...parts) => join(root, ...parts);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const say = (line) => process.stderr.write(`${line}\n`);

/** Whether what npm last installed is what the lock file asks for; npm's own record tells, so no stamp can lie. */
function isInstalled() {
  const record = at('node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const [wanted, present] = [readJson(at('package-lock.json')).packages, readJson(record).packages];
  return Object.entries(wanted).every(([path, { version, optional }]) =>
    path === '' || present[path]?.version === version || (optional && present[path] === undefined));
}

/** Whether a folder, or the nearest one above it that exists, may be written. */
function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch (error) {
    return error.code === 'ENOENT' && dirname(folder) !== folder && isWritable(dirname(folder));
  }
}

function installEnvironment() {
  const env = { ...process.env, npm_config_update_notifier: 'false' };
  // npm hands its cache folder down to scripts, writable or not.
  const cache = env.npm_config_cache ?? join(homedir(), '.npm');
  if (!isWritable(cache)) env.npm_config_cache = join(tmpdir(), `countersign-npm-${process.getuid?.() ?? 'user'}`);
  return env;
}

function quietly(what, command, args, options = {}) {
  say(what);
  const result = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20, ...options });
  if (result.status === 0) return;
  say([result.error?.message, result.stdout, result.stderr].filter(Boolean).join('\n').trim());
  throw new Error(`Failed: ${what}`);
}

function install() {
  if (isInstalled()) return;
  // Development tools are needed to build, whatever NODE_ENV says; the embedded Postgres is an optional package.
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm'];
  quietly('Installing dependencies…', npm[0], [...npm.slice(1), ...args], { env: installEnvironment(), shell: npm.length === 1 && process.platform === 'win32' });
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name)).sort();
}

/** By content, not by time: a fresh clone and an edited file both count as they should. */
function sourceDigest() {
  const hash = createHash('sha256');
  for (const file of [...filesBelow(at('src')), at('tsconfig.json'), at('package-lock.json')]) {
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

function build() {
  const [stamp, digest] = [at('dist', '.sources'), sourceDigest()];
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  // Aside and swapped in, so that a failed build does not leave half a program behind.
  const fresh = at(`dist.${process.pid}`);
  try {
    quietly('Building…', process.execPath, [at('node_modules', 'typescript', 'bin', 'tsc'), '-p', at('tsconfig.json'), '--outDir', fresh]);
    writeFileSync(join(fresh, '.sources'), digest);
    rmSync(at('dist'), { recursive: true, force: true });
    renameSync(fresh, at('dist'));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Runs a program in our place: its input, output, signals and end are ours. */
function handOver(args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', ...options });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => {
        // Ctrl-C reaches the whole foreground group; passing it on would press it twice.
        if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
      });
    }
    child.once('error', (error) => { say(error.message); resolve(1); });
    child.once('exit', (code, signal) => resolve(code ?? 128 + (osConstants.signals[signal] ?? 0)));
  });
}

/** A file that failed to load ran no test, and still is a failure. */
function countTests(report) {
  const broken = report.testResults.filter((file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'));
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length, skipped: report.numPendingTests + report.numTodoTests };
}

async function test(args) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-report-'));
  const file = join(folder, 'report.json');
  try {
    const code = await handOver([at('node_modules', 'vitest', 'vitest.mjs'), 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...args]);
    const counts = existsSync(file) ? countTests(readJson(file)) : { passed: 0, failed: 0, skipped: 0 };
    // Errors outside of any test (a leaked rejection, no test found) end vitest with a code and no failed test.
    if (code !== 0 && counts.failed === 0) counts.failed = 1;
    console.log(`\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`);
    return code === 0 && counts.failed > 0 ? 1 : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const COMMANDS = {
  demo: (args) => handOver([at('dist', 'cli.js'), 'demo', ...args]),
  test,
  example: (args) => handOver([at('examples', 'mail-sender.mjs'), ...args]),
  bench: (args) => handOver([at('bench', 'run.mjs'), ...args]),
};

const [name, ...args] = process.argv.slice(2);
if (!Object.hasOwn(COMMANDS, name ?? '')) {
  say('Usage: node src/bootstrap.mjs demo|test|example|bench [arguments]');
  process.exit(2);
}
try {
  install();
  build();
  process.exitCode = await COMMANDS[name](args);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
process.exit();
