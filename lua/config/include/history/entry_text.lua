-- entry_text(record): a version of a name as its history has it.
local function entry_text(record)
  return table.concat({ record.version, record.at_ms, record.value and 'value' or 'removed', #record.actor, #record.reason,
    record.actor .. record.reason .. (record.value or '') }, ' ')
end
