-- take_expect(changes): take `expect` out of the settings that a call changes; nil if it has none.
local function take_expect(changes)
  for i = 1, #changes, 2 do
    if changes[i] == 'expect' then
      table.remove(changes, i)
      return table.remove(changes, i)
    end
  end
end
