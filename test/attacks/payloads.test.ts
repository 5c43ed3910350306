import { PAYLOADS } from './payloads.js';
import { playTogether } from './together.js';

playTogether('payloads', PAYLOADS);
