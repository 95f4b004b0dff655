-- verifies_locks(ctx): whether the lock domain of the settings is in the same slot, so that its locks can be looked at.
-- USES lock
local function verifies_locks(ctx)
  local name = ':lock:' .. ctx.settings.lock_domain .. ':requests'
  return ctx.settings.lock_domain ~= '' and string.sub(lock.requests, -#name) == name
end
