-- entry_of(name): a name as `read` answers it, and about how many bytes that is.
-- EARLY
local function entry_of(name)
  local record = read_record(name)
  if not record.version then return { 'missing', name }, 0 end
  local entry = { record.value and 'value' or 'removed', name, tonumber(record.version), tonumber(record.at_ms), record.actor,
    record.reason, record.value or nil }
  return entry, 100 + #name + #record.actor + #record.reason + #(record.value or '')
end
