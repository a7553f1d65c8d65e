// Takes the addresses of the registry out of package-lock.json: whoever installs uses their own.
// To be run after every npm install that changes the lock; npm ci needs names and hashes only.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
for (const entry of Object.values(lock.packages)) delete entry.resolved;
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
