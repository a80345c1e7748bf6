// Command plot draws the curves that bench/learning writes. It is a separate module, so that the main module does not
// need a library for plots.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Curve is a figure of an arm over the tasks, with its 95 % interval over seeds.
type Curve struct {
	Arm  string    `json:"arm"`
	Task []int     `json:"task"`
	Mean []float64 `json:"mean"`
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
}

// Plot is one picture.
type Plot struct {
	Title  string  `json:"title"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Curves []Curve `json:"curves"`
}

func main() {
	in := flag.String("curves", "", "file that bench/learning -curves wrote")
	out := flag.String("o", "learning.png", "picture")
	flag.Parse()
	if err := picture(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

const width, height = 9 * vg.Inch, 4.6 * vg.Inch // of one plot

func picture(in, out string) error {
	encoded, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var plots []Plot
	if err := json.Unmarshal(encoded, &plots); err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if len(plots) == 0 {
		return errors.New("there is no plot: run bench/learning with the part single or composed")
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, height*vg.Length(len(plots))), vgimg.UseDPI(110))
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: 10, PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 12}
	for i, p := range plots {
		drawn, err := p.draw()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Title, err)
		}
		drawn.Draw(tiles.At(draw.New(canvas), 0, i))
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(file); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

func (p Plot) draw() (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text = p.Title + " (mean of 40 tasks; the band is the 95 % interval over seeds)"
	out.X.Label.Text = p.X
	out.Y.Label.Text = p.Y
	out.X.Min, out.Y.Min = 0, 0
	out.Add(plotter.NewGrid())
	percent := p.Y == "solved"
	if percent {
		out.Y.Label.Text, out.Y.Max = "tasks solved (%)", 100
	}
	out.Legend.Top, out.Legend.Left = false, false
	out.Legend.XOffs, out.Legend.Padding = -4, 2
	for i, c := range p.Curves {
		if err := c.add(out, i, percent); err != nil {
			return nil, err
		}
	}
	if len(p.Curves) > 0 && len(p.Curves[0].Task) > 0 { // the legend is to the right of the curves
		last := p.Curves[0].Task
		out.X.Max = 1.25 * float64(last[len(last)-1])
	}
	if percent {
		out.Y.Max = 100
	}
	return out, nil
}

func (c Curve) add(to *plot.Plot, i int, percent bool) error {
	scale := 1.0
	if percent {
		scale = 100
	}
	var mean, band plotter.XYs
	for n, task := range c.Task {
		mean = append(mean, plotter.XY{X: float64(task), Y: scale * c.Mean[n]})
		band = append(band, plotter.XY{X: float64(task), Y: limited(scale*c.High[n], scale, percent)})
	}
	for n := len(c.Task) - 1; n >= 0; n-- {
		band = append(band, plotter.XY{X: float64(c.Task[n]), Y: limited(scale*c.Low[n], scale, percent)})
	}
	area, err := plotter.NewPolygon(band)
	if err != nil {
		return err
	}
	r, g, b, _ := plotutil.Color(i).RGBA()
	area.Color = color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 40}
	area.LineStyle.Width = 0
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.Color, line.Width = plotutil.Color(i), vg.Points(2)
	to.Add(area, line)
	to.Legend.Add(c.Arm, line)
	return nil
}

// limited keeps a share between 0 and 100 %.
func limited(v, scale float64, percent bool) float64 {
	if percent {
		return min(scale, max(0, v))
	}
	return v
}
