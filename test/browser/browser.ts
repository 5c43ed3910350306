/** A real Chromium. Without one the tests that need it are skipped, and say so. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page as Tab } from 'playwright-core';

const PATH = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Why there is no browser, or null. */
export const noBrowser: string | null = existsSync(PATH) ? null : `no Chromium at ${PATH} (set CHROMIUM)`;
if (noBrowser !== null) process.stderr.write(`[browser] skipped: ${noBrowser}\n`);

let browser: Promise<Browser> | null = null;

export function openBrowser(): Promise<Browser> {
  return (browser ??= chromium.launch({
    executablePath: PATH, chromiumSandbox: false,
    args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  }));
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

export interface TabOptions { width?: number; dark?: boolean; context?: BrowserContext }

/** A tab at an address. Anything the page's script complains about is collected. */
export async function openTab(url: string, { width = 1280, dark = false, context }: TabOptions = {}): Promise<{ tab: Tab; context: BrowserContext; problems: string[] }> {
  const own = context ?? await (await openBrowser()).newContext({ viewport: { width, height: width < 500 ? 844 : 860 }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  const tab = await own.newPage();
  const problems: string[] = [];
  tab.on('pageerror', (error) => problems.push(error.message));
  tab.on('console', (message) => { if (message.type() === 'error' && !/401 \(Unauthorized\)|40[39] |503 |ERR_/.test(message.text())) problems.push(message.text()); });
  await tab.goto(url);
  return { tab, context: own, problems };
}

/** Where pictures go, when somebody asked for them with SCREENSHOTS=folder. */
export async function picture(tab: Tab, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await tab.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
