-- verifies_locks(ctx): whether the lock domain of the settings is in the same slot, so that its locks can be looked at.
-- USES lock
local function verifies_locks(ctx)
  if not ctx.settings.lock_domain or ctx.settings.lock_domain == 'none' then return false end
  local name = ':lock:' .. ctx.settings.lock_domain .. ':requests'
  return string.sub(lock.requests, -#name) == name
end
