-- wait_fields(wait, delivery): the fields of its record that say for what a suspended task waits: `<delivery> <name>`. This
-- holds as long as no later run has ended, which would have changed `deliveries`.
local function wait_fields(wait, delivery)
  local fields = { 'waits_for', delivery .. ' ' .. wait.name }
  if wait.reason == 'diverged' then fields[3], fields[4] = 'reason', wait.reason end
  return fields
end
